import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../../../src/core/errors.ts';
import type { ObjectStore } from '../../../src/remote/backends/backend.ts';
import { takeAttemptNumber } from '../../../src/remote/pointer/attempt-numbers.ts';
import { startAttempt } from '../../../src/store/attempt/attempt.ts';
import { openRun } from '../../../src/store/folder/store.ts';
import { seal } from '../../support/sealed-run.ts';
import { openCopies, shipNewest, startNode, startOver } from '../../support/start-over.ts';
import type { Places, RemoteScenario } from './scenario.ts';

const RUN_KEY = '.holdfast/run.json';

/** Ships the newest checkpoint of a folder; `through` may stand in front of the store. */
export async function ship(run: string, copies: string, through: (store: ObjectStore) => ObjectStore = (store) => store): Promise<number> {
  await using store = openCopies({ url: `file://${copies}` });
  return await shipNewest(openRun(run), through(store));
}

/** Puts a function of the test in front of each creation of an object. */
export function beforeCreate(store: ObjectStore, first: (key: string, bytes: Uint8Array) => Promise<void>): ObjectStore {
  const create: ObjectStore['create'] = async (key, bytes) => {
    await first(key, bytes);
    return store.create(key, bytes);
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === 'create') return create;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Makes copies of these steps. Both attempts have taken their numbers, as under `run --ship`. */
async function shipAll({ copies, older, newer }: Places, ...steps: readonly (10 | 20)[]): Promise<void> {
  await using store = openCopies({ url: `file://${copies}` });
  const { run } = openRun(older);
  for (const above of [0, 1]) await takeAttemptNumber(store, { gang: 'gang', run, above });
  for (const step of steps) await shipNewest(openRun(step === 10 ? older : newer), store);
}

const start = ({ node, copies, tmp }: Places) => ({ dir: node, url: `file://${copies}`, tmp });

/** What nodes do with the copies of a run: claims, ships, starts and fetches. */
export const REMOTE_SCENARIOS = {
  'the first ship': {
    async before({ node, older }) {
      cpSync(older, node, { recursive: true });
    },
    async act({ node, copies }, promise) {
      promise(`shipped ${await ship(node, copies)}`);
    },
  },
  'a ship of a newer checkpoint': {
    async before(places) {
      await shipAll(places, 10);
      cpSync(places.newer, places.node, { recursive: true });
    },
    async act({ node, copies }, promise) {
      promise(`shipped ${await ship(node, copies)}`);
    },
  },
  'a ship after run.json was lost': {
    async before(places) {
      await shipAll(places, 10);
      rmSync(join(places.copies, RUN_KEY));
      cpSync(places.newer, places.node, { recursive: true });
    },
    async act({ node, copies }, promise) {
      promise(`shipped ${await ship(node, copies)}`);
    },
  },
  'a late ship of an older attempt': {
    async before(places) {
      await shipAll(places, 20);
      cpSync(places.older, places.node, { recursive: true });
    },
    async act({ node, copies }, promise) {
      promise(`shipped ${await ship(node, copies)}`);
    },
  },
  'a claim of a prefix that another run claims at the same moment': {
    isForeign: true,
    async before({ node }) {
      mkdirSync(node);
      const store = openRun(node);
      await seal(store, await startAttempt(store, { gang: 'foreign' }), { step: 10 });
    },
    async act({ node, copies, older }, promise) {
      const claimed = ship(node, copies, (store) =>
        beforeCreate(store, async (key) => {
          if (key === RUN_KEY) promise(`shipped ${await ship(older, copies)}`);
        }),
      );
      if (!isConflict(await claimed.catch((thrown: unknown) => thrown))) throw new Error('the second claim was not refused');
    },
  },
  'the start of a new node over copies': {
    async before(places) {
      await shipAll(places, 10, 20);
      mkdirSync(places.node);
    },
    async act(places, promise) {
      promise(`attempt ${(await startNode(start(places))).attempt}`);
    },
  },
  'the start of a new node after run.json was lost': {
    async before(places) {
      await shipAll(places, 10, 20);
      rmSync(join(places.copies, RUN_KEY));
      mkdirSync(places.node);
    },
    async act(places, promise) {
      promise(`attempt ${(await startNode(start(places))).attempt}`);
    },
  },
  'a node that takes an attempt number while another takes it': {
    async before(places) {
      await shipAll(places, 10, 20);
      mkdirSync(places.node);
    },
    async act({ copies, older }, promise) {
      await using store = openCopies({ url: `file://${copies}` });
      const wish = { run: openRun(older).run, above: 0 };
      const taken: number[] = [];
      const take = async (from: ObjectStore, gang: string): Promise<void> => {
        taken.push(await takeAttemptNumber(from, { ...wish, gang }));
        promise(`attempt ${taken.at(-1) ?? 0}`);
      };
      const late = beforeCreate(store, async () => {
        if (taken.length === 0) await take(store, 'one');
      });
      await take(late, 'other');
      if (new Set(taken).size !== 2) throw new Error('two nodes have one number');
    },
  },
  'the first start with a prefix, and its first copy': {
    async before({ node, older }) {
      cpSync(older, node, { recursive: true });
    },
    async act(places, promise) {
      promise(`shipped ${(await startOver(start(places))).pointer ?? 0}`);
    },
  },
} satisfies Readonly<Record<string, RemoteScenario>>;

function isConflict(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && thrown.code === 'REMOTE_CONFLICT';
}
