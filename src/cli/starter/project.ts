// The files of the starter project around its code.

interface Versions {
  /** Where npm finds hookline: a version, or the place of the file that this copy came from. */
  readonly hookline: string;
  /** The one that hookline itself uses, so that nothing more is installed. */
  readonly jiti: string;
}

export const manifest = (name: string, { hookline, jiti }: Versions): string =>
  `${JSON.stringify(
    {
      name,
      private: true,
      type: "module",
      scripts: {
        train: "hookline train",
        test: "node --import jiti/register --test hooks/milestones.test.ts",
        check: "tsc",
      },
      dependencies: { hookline },
      devDependencies: { "@types/node": "^20.19.0", jiti, typescript: "^5.9.0 || ^7.0.0" },
    },
    undefined,
    2,
  )}\n`;

export const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "lib": ["es2023", "esnext.disposable", "dom"],
    "module": "nodenext",
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true,
    "noEmit": true,
    "types": ["node"]
  },
  "include": ["**/*.ts"]
}
`;

export const gitignore = `node_modules/
runs/
`;

export const readme = (name: string): string => `# ${name}

A model that learns on which of three arms of a spiral a point lies. Made by \`hookline init\`.

\`\`\`sh
npm install
npx hookline train          # a few seconds; files go to runs/spirals
npx hookline runs           # what came of it, and of every other run
npx hookline runs --plot val/accuracy
npx hookline eval runs/spirals
npx hookline inspect runs/spirals
npm test                    # the test of the hook
\`\`\`

| file | what |
|---|---|
| \`hookline.yaml\` | what is trained, how, and which hooks watch |
| \`data.ts\` | makes the data; read yours here |
| \`hooks/milestones.ts\` | a hook of your own, and beside it its test |

A program of your own, which imports \`hookline\` and what is in these files, is run with

\`\`\`sh
node --import jiti/register program.ts # or \`node program.ts\`, from Node 22.18 on
\`\`\`

Ctrl-C ends a run in good order; \`npx hookline resume runs/spirals\` goes on with it, with the same numbers as if nothing had happened.

Try: \`npx hookline train --set optimizer.lr=0.001 --run-dir runs/slow\`, another layer in \`hookline.yaml\`, \`noise: 0.5\`.
`;
