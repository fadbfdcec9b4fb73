/** Bundles the dashboard's pages into a folder. */
export function buildPages(folder: string): Promise<void>;
