/** A file below a folder, with the size it must have. */
export interface FileToRead {
  readonly path: string;
  readonly size: number;
}
