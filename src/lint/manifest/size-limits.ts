/** Files above this are named and not read. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;
/**
 * Nodes of one document, those that aliases and merges repeat counted once; a manifest has some
 * hundreds.
 */
export const MAX_NODES = 500_000;
/** How deep maps and sequences may be nested; a manifest needs about 15. */
export const MAX_DEPTH = 100;
/** How documents are counted that are no object of Kubernetes. */
export const NO_KIND = 'no kind';
