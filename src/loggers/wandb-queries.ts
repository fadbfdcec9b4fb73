// The GraphQL of W&B that is used, and what it answers.

export const UPSERT_BUCKET = `
mutation UpsertBucket($name: String, $project: String, $entity: String, $displayName: String, $config: JSONString, $tags: [String!]) {
  upsertBucket(input: { name: $name, modelName: $project, entityName: $entity, displayName: $displayName, config: $config, tags: $tags }) {
    bucket { id name project { name entity { name } } historyLineCount }
    inserted
  }
}`;

export interface UpsertedBucket {
  readonly upsertBucket?: {
    readonly bucket?: { readonly project?: { readonly name?: string; readonly entity?: { readonly name?: string } } };
  };
}

export const RESUME_STATUS = `
query RunResumeStatus($project: String, $entity: String, $name: String!) {
  model(name: $project, entityName: $entity) {
    bucket(name: $name, missingOk: true) { historyLineCount eventsLineCount historyTail summaryMetrics }
  }
}`;

export interface ResumeStatus {
  readonly model?: {
    readonly bucket?: {
      readonly historyLineCount?: number | null;
      readonly eventsLineCount?: number | null;
      readonly historyTail?: string | null;
      readonly summaryMetrics?: string | null;
    } | null;
  } | null;
}

export const CREATE_RUN_FILES = `
mutation CreateRunFiles($entity: String!, $project: String!, $run: String!, $files: [String!]!) {
  createRunFiles(input: { entityName: $entity, projectName: $project, runName: $run, files: $files }) {
    uploadHeaders
    files { name uploadUrl }
  }
}`;

export interface CreatedRunFiles {
  readonly createRunFiles?: {
    /** As "name:value". */
    readonly uploadHeaders?: readonly string[];
    readonly files?: readonly { readonly name?: string; readonly uploadUrl?: string }[];
  };
}
