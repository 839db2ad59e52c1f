import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';

/** Opens a file and always closes it. Never follows a link or waits for a pipe. */
export async function withFile<T>(path: string, flags: number, work: (file: fs.FileHandle) => Promise<T>): Promise<T> {
  const file = await fs.open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o666);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  await withFile(path, constants.O_RDONLY | constants.O_DIRECTORY, (folder) => folder.sync());
}
