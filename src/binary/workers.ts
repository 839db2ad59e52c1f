/** Every worker of ours, by the path that its URL has in the executable. Empty here: tools/binary/bundle.ts puts in every `worker.ts` there is. */
export const WORKERS: Readonly<Record<string, () => Promise<unknown>>> = {};
