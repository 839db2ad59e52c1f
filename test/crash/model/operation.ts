/**
 * One recorded call of the protocol that changes the disk; paths are relative to the run's folder.
 */
export type Operation =
  | { readonly kind: 'mkdir'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly data: Uint8Array }
  /** An existing file gets these bytes in place of its own. */
  | { readonly kind: 'fill'; readonly path: string; readonly data: Uint8Array }
  /** A second name for a file. */
  | { readonly kind: 'link'; readonly from: string; readonly to: string }
  | { readonly kind: 'sync-file'; readonly path: string }
  | { readonly kind: 'sync-folder'; readonly path: string }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string }
  | { readonly kind: 'unlink'; readonly path: string }
  | { readonly kind: 'rmdir'; readonly path: string }
  /** The caller got the answer: from here on the promise holds through any crash. */
  | { readonly kind: 'promise'; readonly name: string };

/** `write .holdfast/run.json`, `rename a -> b`: the form of a log for people. */
export function describe(operation: Operation): string {
  switch (operation.kind) {
    case 'rename':
    case 'link':
      return `${operation.kind} ${operation.from} -> ${operation.to}`;
    case 'promise':
      return `promise ${operation.name}`;
    case 'mkdir':
    case 'write':
    case 'fill':
    case 'sync-file':
    case 'sync-folder':
    case 'unlink':
    case 'rmdir':
      return `${operation.kind} ${operation.path}`;
  }
}
