// The config of the starter project.

export const config = (schema: string): string => `# yaml-language-server: $schema=${schema}
# What \`npx hookline train\` trains. Every value can be changed for one run: --set optimizer.lr=0.001

name: spirals # its files go to runs/spirals

data: # an own function: file#export. The other keys are its options
  use: ./data.ts#spirals
  points: 1800
  noise: 0.25

split: { use: holdout, val: 0.2, test: 0.2 } # val decides what is best, test is looked at once, at the end
loader: { batchSize: 32, shuffle: true, evalBatchSize: 256 }

model:
  use: sequential
  layers:
    - { use: linear, in: 2, out: 64 }
    - relu # the same as { use: relu }
    - { use: linear, in: 64, out: 64 }
    - relu
    - { use: linear, in: 64, out: 3 }

loss: crossEntropy
metrics: [accuracy]
optimizer: { use: adam, lr: 0.01 }
schedule: { use: cosine, warmup: 5% }
epochs: 30
seed: 0

hooks: # \`npx hookline hooks\` lists what there is, \`npx hookline hooks --explain hookline.yaml\` says who runs when
  - progressBar
  - { use: logger, backends: jsonl } # more of them: console, csv, tensorboard, wandb, mlflow
  - { use: modelCheckpoint, monitor: val/loss } # the best, and the newest to go on from
  - { use: earlyStopping, monitor: val/loss, patience: 10 }
  - { use: ./hooks/milestones.ts#milestones, monitor: val/accuracy, at: [0.7, 0.9, 0.95] } # an own hook
`;
