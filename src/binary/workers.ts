/**
 * Every worker, by the path of its URL in the executable. Empty here: tools/binary/bundle.ts adds
 * every `*-worker.ts`.
 */
export const WORKERS: Readonly<Record<string, () => Promise<unknown>>> = {};
