// asciichart comes without types: what is used of it.
declare module "asciichart" {
  export function plot(
    series: readonly number[] | readonly (readonly number[])[],
    options?: {
      readonly height?: number;
      readonly colors?: readonly string[];
      readonly format?: (value: number) => string;
    },
  ): string;
  export const blue: string;
  export const green: string;
  export const magenta: string;
  export const yellow: string;
  export const cyan: string;
  export const red: string;
}
