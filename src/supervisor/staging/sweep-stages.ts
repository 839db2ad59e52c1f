import { rmdirSync } from 'node:fs';
import { dropImage, isOrphaned, readImages } from './image.ts';
import { isForsaken } from './kept-memory.ts';
import { otherStages, type StageFolder } from './stage-folder.ts';

/** Frees the memory that runs have left behind which are gone themselves, with their folders. Never fails: it only tidies up. */
export async function sweepStages(stage: StageFolder, self: string | null): Promise<void> {
  try {
    for (const other of otherStages(stage)) await sweepStage(other, self);
  } catch {
    // Another who tidies up was first, or the place has troubles that a save will tell.
  }
}

async function sweepStage(path: string, self: string | null): Promise<void> {
  const images = readImages(path);
  for (const { folder, image } of images) if (image === null ? isForsaken(folder, self) : isOrphaned(image, self)) await dropImage(folder);
  try {
    if (images.length === 0) rmdirSync(path);
  } catch {
    // Somebody else's, or in use again.
  }
}
