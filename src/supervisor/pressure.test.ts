import { statfsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { diskPressure, preparePressure } from './pressure.ts';

describe('a disk of the node', () => {
  it('is short from a little above the line on, by its bytes', () => {
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

  it('is short by its inodes, where they are counted', () => {
    using folder = tempFolder();
    const { files } = statfsSync(folder.path);
    const short = diskPressure(folder.path, { bytes: 0, inodes: files + 1, text: '0 %' });
    expect(short.map(({ resource }) => resource)).toEqual(files > 0 ? ['inodes'] : []);
  });

  it('outside a pod is nobody’s concern', () => {
    using folder = tempFolder();
    if (process.platform === 'linux') expect(preparePressure(folder.path, { HOLDFAST_EPHEMERAL_LIMIT: '1' })()).toEqual([]);
  });
});
