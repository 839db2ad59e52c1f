import { statfsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { diskPressure, preparePressure } from './pressure.ts';

describe('a disk of the node', () => {
  it('is short of bytes from a little above the eviction line', () => {
    using folder = tempFolder();
    const { blocks, bsize } = statfsSync(folder.path);
    expect(diskPressure(folder.path, { bytes: blocks * bsize, inodes: 0, text: '100 %' })).toEqual([
      {
        resource: 'disk',
        seen: expect.stringMatching(/^[\d.]+ % of the disk under .* is free, eviction begins at 100 %$/) as string,
      },
    ]);
    expect(diskPressure(folder.path, { bytes: 0, inodes: 0, text: '0 %' })).toEqual([]);
  });

  it('is short of inodes when the file system counts them', () => {
    using folder = tempFolder();
    const { files } = statfsSync(folder.path);
    const short = diskPressure(folder.path, { bytes: 0, inodes: files + 1, text: '0 %' });
    expect(short.map(({ resource }) => resource)).toEqual(files > 0 ? ['inodes'] : []);
  });

  it('is not watched outside a pod', () => {
    using folder = tempFolder();
    if (process.platform === 'linux') expect(preparePressure(folder.path, { HOLDFAST_EPHEMERAL_LIMIT: '1' })()).toEqual([]);
  });
});
