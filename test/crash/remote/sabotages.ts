import { createHash } from 'node:crypto';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { advancePointer } from '../../../src/remote/pointer/advance-pointer.ts';
import { MANIFEST_NAME } from '../../../src/seal/names.ts';
import { type Manifest, parseManifest } from '../../../src/seal/manifest.ts';
import { COPY_SCHEMA } from '../../../src/store/folder/store.ts';
import type { DiskEvent } from '../model/events.ts';
import type { RemoteScenario } from './scenario.ts';
import { beforeCreate, type REMOTE_SCENARIOS, ship } from './scenarios.ts';

/** A mistake in one of the scenarios, and the complaint that reveals it. */
export interface Sabotage {
  readonly scenario: keyof typeof REMOTE_SCENARIOS;
  readonly complaint: string;
  /** What the node does instead. */
  readonly act?: RemoteScenario['act'];
  /** The disk that loses power, and the requests that reach it; without them the node is killed. */
  readonly cut?: readonly ['copies' | 'node', (event: DiskEvent) => boolean];
}

const [RUN_KEY, POINTER_KEY] = ['.holdfast/run.json', '.holdfast/last-good.json'];

/** What the judge must find out; a judge that finds none of these proves nothing. */
export const SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'a ship that moves the pointer before it seals the copy': {
    scenario: 'a ship of a newer checkpoint',
    complaint: 'the pointer names step 20, of which there is no whole copy',
    async act({ node, copies }) {
      await ship(node, copies, (store) =>
        beforeCreate(store, async (key, bytes) => {
          if (key.endsWith(MANIFEST_NAME)) await advancePointer(store, { name: 'step-20', kind: 'directory', manifest: manifestOf(bytes) });
        }),
      );
    },
  },
  'a ship that does not sync the pointer': {
    scenario: 'a ship of a newer checkpoint',
    complaint: 'the pointer is torn',
    cut: ['copies', without('sync-file', uploadOf(POINTER_KEY))],
  },
  'a ship that does not sync the name of the pointer': {
    scenario: 'a ship of a newer checkpoint',
    complaint: 'step 20 was shipped, and the pointer does not know it',
    cut: ['copies', without('sync-folder', 'copies/.holdfast')],
  },
  'a ship that does not sync the files of a copy': {
    scenario: 'the first ship',
    complaint: 'the copy step-10 counts, and is not whole',
    cut: ['copies', without('sync-file', uploadOf('step-10/shard-1'))],
  },
  'a late ship that moves the pointer without a look at it': {
    scenario: 'a late ship of an older attempt',
    complaint: 'the pointer moved back to step 10',
    async act({ node, copies, older }) {
      await ship(node, copies);
      const pointer = JSON.parse(readFileSync(join(copies, POINTER_KEY), 'utf8')) as object;
      const { save, step, attempt } = manifestOf(readFileSync(join(older, 'step-10', MANIFEST_NAME)));
      writeFileSync(join(copies, POINTER_KEY), JSON.stringify({ ...pointer, save, step, attempt, name: 'step-10' }));
    },
  },
  'a claim that does not compare': {
    scenario: 'a claim of a prefix that another run claims at the same moment',
    complaint: 'the pointer is torn, or of another run',
    async act({ node, copies, older }) {
      await ship(node, copies, (store) =>
        beforeCreate(store, async (key) => {
          if (key !== RUN_KEY) return;
          await ship(older, copies);
          unlinkSync(join(copies, RUN_KEY));
        }),
      );
    },
  },
  'a start that claims a prefix without run.json for a new run': {
    scenario: 'the start of a new node after run.json was lost',
    complaint: 'run.json does not name the run',
    async act({ copies }) {
      writeFileSync(join(copies, RUN_KEY), JSON.stringify({ schema: COPY_SCHEMA, run: 'a new run' }));
    },
  },
  'a start that does not sync what it fetches': {
    scenario: 'the start of a new node over copies',
    complaint: 'the checkpoint step-20 is half there',
    cut: ['node', without('sync-file', 'node/.holdfast/fetching/')],
  },
};

function manifestOf(bytes: Uint8Array): Manifest {
  const parsed = parseManifest(Buffer.from(bytes).toString('utf8'));
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.manifest;
}

/** All requests but the syncs of this kind that concern this path, or one that begins so. */
function without(kind: 'sync-file' | 'sync-folder', path: string): (event: DiskEvent) => boolean {
  const isMeant = (step: string): boolean => (kind === 'sync-folder' ? step === `${kind} ${path}` : step.startsWith(`${kind} ${path}`));
  return (event) => !isMeant(event.step);
}

/** Where an object lies until it is complete. */
function uploadOf(key: string): string {
  return `copies/.holdfast/uploads/${createHash('sha256').update(key).digest('hex').slice(0, 40)}`;
}
