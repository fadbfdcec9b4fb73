// What the page and its worker say to each other.
export type ToWorker = { readonly do: "train"; readonly epochs: number } | { readonly do: "stop" };

export type ToPage =
  | { readonly kind: "loss"; readonly step: number; readonly loss: number }
  | { readonly kind: "epoch"; readonly epoch: number; readonly accuracy: number }
  | { readonly kind: "end"; readonly status: string; readonly device: string }
  | { readonly kind: "error"; readonly message: string };
