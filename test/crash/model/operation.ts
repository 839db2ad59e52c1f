/** One call of the protocol that changes the disk, as it was recorded; paths are relative to the run's folder. */
export type Operation =
  | { readonly kind: 'mkdir'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly data: Uint8Array }
  | { readonly kind: 'sync-file'; readonly path: string }
  | { readonly kind: 'sync-folder'; readonly path: string }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string }
  | { readonly kind: 'unlink'; readonly path: string }
  | { readonly kind: 'rmdir'; readonly path: string }
  /** The caller was told: from here on the promise holds, whatever crashes. */
  | { readonly kind: 'promise'; readonly name: string };

/** `write .holdfast/run.json`, `rename a -> b`: how a log is read by people. */
export function describe(operation: Operation): string {
  switch (operation.kind) {
    case 'rename':
      return `rename ${operation.from} -> ${operation.to}`;
    case 'promise':
      return `promise ${operation.name}`;
    case 'mkdir':
    case 'write':
    case 'sync-file':
    case 'sync-folder':
    case 'unlink':
    case 'rmdir':
      return `${operation.kind} ${operation.path}`;
  }
}
