import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBootId } from '../../../store/disk/boot-id.ts';
import { processIdentity } from '../../../store/disk/process-identity.ts';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { isForsaken, KeptMemory } from './kept-memory.ts';

describe('memory that ranks keep', () => {
  it('is one folder for each rank, and counts until it is released', async () => {
    using stage = tempFolder();
    const kept = new KeptMemory(stage.path, null);
    const [a, b] = [{}, {}];
    const folders = [kept.give(a, 100), kept.give(b, 20)];
    expect([new Set(folders).size, kept.bytes, folders.every((folder) => existsSync(folder))]).toEqual([2, 120, true]);
    kept.release(a);
    expect(kept.bytes).toBe(20);
    await kept.close();
    expect([kept.bytes, existsSync(stage.path) ? readdirSync(stage.path) : []]).toEqual([0, []]);
  });

  it('counts as the memory of a save only for ranks that report links', async () => {
    using stage = tempFolder();
    const kept = new KeptMemory(stage.path, null);
    const [a, b] = [{}, {}];
    kept.give(a, 100);
    kept.give(b, 20);
    kept.links(a, true);
    kept.links({}, true);
    expect([kept.bytes, kept.linkedBytes]).toEqual([120, 100]);
    kept.links(a, false);
    expect(kept.linkedBytes).toBe(0);
    await kept.close();
  });

  it('is replaced when a rank asks again, and releasing it for other ranks does nothing', async () => {
    using stage = tempFolder();
    const kept = new KeptMemory(stage.path, null);
    const rank = {};
    kept.give(rank, 100);
    const second = kept.give(rank, 300);
    kept.release({});
    expect([kept.bytes, existsSync(second)]).toEqual([300, true]);
    await kept.close();
  });

  it('leaves the linked files of a save in place when it is released', async () => {
    using stage = tempFolder();
    const kept = new KeptMemory(stage.path, null);
    const file = join(kept.give({}, 4), 'state');
    const save = join(stage.path, '1-save');
    mkdirSync(save);
    writeFileSync(file, 'good');
    linkSync(file, join(save, 'state'));
    await kept.close();
    expect(readFileSync(join(save, 'state'), 'latin1')).toBe('good');
    expect(readdirSync(stage.path)).toEqual(['1-save']);
  });

  it('counts as abandoned only when its owner is certainly gone', () => {
    using stage = tempFolder();
    const self = processIdentity(readBootId());
    const mine = new KeptMemory(stage.path, self).give({}, 1);
    const [boot = '', viewpoint = ''] = self?.split('.') ?? [];
    const dead = new KeptMemory(join(stage.path, 'dead'), `${boot}.${viewpoint}.4194305.1`);
    mkdirSync(join(stage.path, 'dead'));
    const theirs = dead.give({}, 1);
    expect([isForsaken(mine, self), isForsaken(theirs, self), isForsaken(join(stage.path, 'dead'), self)]).toEqual([
      false,
      self !== null,
      false,
    ]);
  });
});
