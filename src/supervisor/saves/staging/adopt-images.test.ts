import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { startAttempt } from '../../../store/attempt/attempt.ts';
import { rollBack } from '../../../store/attempt/roll-back.ts';
import { scan } from '../../../store/folder/scan.ts';
import { openRun, type OpenStore } from '../../../store/folder/store.ts';
import { realClock } from '../../../core/clock.ts';
import type { LedgerEvent } from '../../../ledger/events.ts';
import { RunLog } from '../../base/run-log.ts';
import { Sealer } from '../sealing/sealer.ts';
import { adoptImages, type AdoptOptions } from './adopt-images.ts';
import { type Image, makeImage, markOf } from './image.ts';
import { makeStageFolder, type StageFolder } from './stage-folder.ts';
import { sweepStages } from './sweep-stages.ts';

let folder: ReturnType<typeof tempFolder>;
let store: OpenStore;
let stage: StageFolder;
let sealer: Sealer;
let told: string[];
let recorded: LedgerEvent[];

class OpenBook extends RunLog {
  override record(event: LedgerEvent): void {
    recorded.push(event);
  }
}

beforeEach(() => {
  folder = tempFolder();
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  store = openRun(dir);
  stage = { parent: folder.path, path: join(folder.path, 'stage'), isShared: false };
  sealer = new Sealer({ dir, clock: realClock });
  [told, recorded] = [[], []];
});

afterEach(async () => {
  await sealer.close();
  folder[Symbol.dispose]();
});

interface Left {
  readonly attempt?: number;
  readonly step: number;
  readonly ranks?: number;
  readonly worldSize?: number;
  readonly marks?: number;
  readonly owner?: string | null;
}

/** Leaves a save in memory as an earlier attempt that wrote `marks` of its parts. */
function leave({ attempt = 1, step, ranks = 1, worldSize = ranks, marks = ranks, owner = null }: Left): Image {
  makeStageFolder(stage);
  const image = makeImage(
    stage.path,
    { run: store.run, attempt, save: `save-${attempt}-${step}`, step, worldSize },
    { ranks, owner, dir: store.path },
  );
  writeFileSync(join(image.data, 'state'), `step ${step}`);
  for (let rank = 0; rank < marks; rank++) writeFileSync(markOf(image, rank), '');
  return image;
}

/** Starts the next attempt; resolves to the sealed steps, the newest first. */
async function nextLife(gang = 'next'): Promise<readonly number[]> {
  const tell = (text: string): void => void told.push(text);
  const log = new OpenBook({ dir: store.path, node: 'n', clock: realClock, terminationLog: null, say: tell, shout: tell });
  const attempt = await startAttempt(store, { gang });
  const options = { retention: null, env: {} } as unknown as AdoptOptions['options'];
  await adoptImages(stage, { store, attempt, options, log, sealer, signal: new AbortController().signal });
  return scan(store).sealed.map(({ manifest }) => manifest.step);
}

describe('a save that an earlier attempt left in memory', () => {
  it('becomes a checkpoint of the new attempt if it is the newest one handed over, and older ones are freed', async () => {
    await startAttempt(store, { gang: 'first' });
    leave({ step: 10 });
    leave({ step: 20 });
    expect(await nextLife()).toEqual([20]);
    const [sealed] = scan(store).sealed;
    expect(sealed?.manifest).toMatchObject({ attempt: 2, step: 20, origin: 'save' });
    expect(readFileSync(join(store.path, 'step-20/state'), 'utf8')).toBe('step 20');
    expect(existsSync(stage.path)).toBe(false);
    expect(recorded.flatMap((event) => (event.kind === 'save-ended' ? [[event.step, event.outcome]] : []))).toEqual([
      [10, 'lost'],
      [20, 'sealed'],
    ]);
  });

  it('of several ranks becomes a checkpoint if all of them have handed over', async () => {
    leave({ step: 10, ranks: 3 });
    expect(await nextLife()).toEqual([10]);
    expect(scan(store).sealed[0]?.manifest).toMatchObject({ worldSize: 3 });
  });

  it.each<[string, Left, RegExp]>([
    ['that its rank did not hand over', { step: 10, marks: 0 }, /ended before the hand-over/],
    ['that only some ranks handed over', { step: 10, ranks: 2, marks: 1 }, /ended before the hand-over/],
    ['with a part on another node', { step: 10, ranks: 2, worldSize: 4 }, /2 of 4 ranks wrote it here/],
  ])('%s is freed and reported as lost', async (_, left, reason) => {
    leave(left);
    expect(await nextLife()).toEqual([]);
    expect(told.join('\n')).toMatch(reason);
    expect(recorded).toContainEqual(expect.objectContaining({ kind: 'save-ended', step: 10, outcome: 'lost' }));
    expect(existsSync(stage.path)).toBe(false);
  });

  it('is left alone while a live supervisor owns it', async () => {
    leave({ step: 10, marks: 0, owner: store.owner });
    expect(await nextLife()).toEqual([]);
    expect(readdirSync(stage.path)).toHaveLength(1);
  });

  it('is freed without a message if it is not newer than the newest sealed save', async () => {
    leave({ step: 10 });
    await nextLife();
    leave({ step: 10 });
    leave({ step: 9 });
    told = [];
    expect(await nextLife('third')).toEqual([10]);
    expect([told, existsSync(stage.path)]).toEqual([[], false]);
  });

  it('is freed and not sealed if the run was rolled back from it', async () => {
    leave({ step: 10 });
    await nextLife();
    leave({ step: 20 });
    await rollBack(store, null);
    expect(await nextLife('third')).toEqual([]);
    expect(existsSync(stage.path)).toBe(false);
  });

  it('is freed if it is not an image or belongs to another run', async () => {
    makeStageFolder(stage);
    mkdirSync(join(stage.path, 'nonsense'));
    mkdirSync(join(stage.path, 'gone-1-x/data'), { recursive: true });
    mkdirSync(join(stage.path, 'pipe'));
    writeFileSync(
      join(stage.path, 'pipe/image.json'),
      '{"schema":"holdfast.image/1","run":"other","attempt":1,"save":"../../x","step":1,"worldSize":1,"ranks":1,"dir":"/"}',
    );
    expect(await nextLife()).toEqual([]);
    expect(existsSync(stage.path)).toBe(false);
  });
});

describe('the images of other runs in memory', () => {
  const DEAD = 999_999_999;

  it.each<[string, { readonly isDead: boolean; readonly dir: string }, boolean]>([
    ['is freed when its run is gone and its owner is dead', { isDead: true, dir: '/not/there' }, false],
    ['stays while its run exists', { isDead: true, dir: '/' }, true],
    ['stays while its owner is alive', { isDead: false, dir: '/not/there' }, true],
  ])('an image %s', async (_, { isDead, dir }, stays) => {
    const own: StageFolder = { ...stage, path: join(folder.path, `holdfast-${'0'.repeat(24)}`) };
    const other: StageFolder = { ...stage, path: join(folder.path, `holdfast-${'1'.repeat(24)}`) };
    makeStageFolder(other);
    const parts = store.owner?.split('.') ?? [];
    const owner = isDead ? [parts[0], parts[1], DEAD, parts[3]].join('.') : store.owner;
    makeImage(other.path, { run: 'other', attempt: 1, save: 'a', step: 1, worldSize: 1 }, { ranks: 1, owner, dir });
    await sweepStages(own, store.owner);
    expect(existsSync(join(other.path, '1-a'))).toBe(stays);
    expect(existsSync(other.path)).toBe(stays);
  });
});
