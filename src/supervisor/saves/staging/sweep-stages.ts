import { rmdirSync } from 'node:fs';
import { dropImage, isOrphaned, readImages } from './image.ts';
import { isForsaken } from './kept-memory.ts';
import { otherStages, type StageFolder } from './stage-folder.ts';

/** Frees the memory of runs whose folders are gone. Never fails, because it only tidies up. */
export async function sweepStages(stage: StageFolder, self: string | null): Promise<void> {
  try {
    for (const other of otherStages(stage)) await sweepStage(other, self);
  } catch {
    // Another process was first, or the place has a problem that the next save will report.
  }
}

async function sweepStage(path: string, self: string | null): Promise<void> {
  const images = readImages(path);
  for (const { folder, image } of images) if (image === null ? isForsaken(folder, self) : isOrphaned(image, self)) await dropImage(folder);
  try {
    if (images.length === 0) rmdirSync(path);
  } catch {
    // The folder belongs to another user, or it is in use again.
  }
}
