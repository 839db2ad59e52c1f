import { basename, join } from 'node:path';
import { isObject } from '../../checkpoint/json.ts';
import { type Attempt, fencedError, isFenced, startAttempt } from '../../checkpoint/store/attempt.ts';
import { nameProblem } from '../../checkpoint/store/relative-path.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { Gang } from '../../domain/gang.ts';
import type { Resume } from '../find-resume.ts';
import { GangPlace } from './place.ts';
import { until } from './until.ts';

/** What all nodes of a gang begin with. */
export interface Begun {
  readonly attempt: Attempt;
  readonly resume: Resume | null;
}

export interface MeetOptions {
  readonly gang: Gang;
  /** Starts the attempt and finds what to resume from; asked on the node that leads, when all others have come. */
  readonly begin: () => Promise<Begun>;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

/** Nodes of one job come up minutes apart: images are pulled, machines are booted. */
const MEET_MS = 10 * 60_000;
const CALL = 'call.json';

/**
 * All nodes of a gang begin one attempt together. Every life of a supervisor has a word of its own, and an attempt is made of exactly the words
 * that it names, so that neither what a dead life has left behind nor a node that comes back late is taken for one that is there:
 *
 * each node leaves its word; when all have, the first starts the attempt, finds what to resume from, and calls them by their words;
 * whoever is called joins the attempt and says so; when all have, the trainers start.
 *
 * A word that changes meanwhile (a node that died and came back) is called anew.
 */
export async function meet(store: OpenStore, options: MeetOptions): Promise<Begun> {
  const place = new GangPlace(store, options.gang.id);
  return options.gang.nodeRank === 0 ? lead(store, place, options) : follow(store, place, options);
}

async function lead(store: OpenStore, place: GangPlace, { gang, begin, signal, say }: MeetOptions): Promise<Begun> {
  const { clock } = store;
  const others = Array.from({ length: gang.nodes - 1 }, (_, index) => index + 1);
  const wordsOf = (attempt: number | null): readonly (string | null)[] => others.map((node) => wordOf(place, node, attempt));
  say(`waiting for ${others.length} more ${others.length === 1 ? 'node' : 'nodes'} of gang ${gang.id}`);
  const bound = { clock, boundMs: MEET_MS, signal };
  await until(() => (wordsOf(null).includes(null) ? null : true), {
    ...bound,
    tooLate: () => incomplete(`node ${missing(others, wordsOf(null))} did not come`),
  });
  const begun = await begin();
  const { attempt, resume } = begun;
  let called = '';
  await until(
    () => {
      if (isFenced(store, attempt.attempt)) throw fencedError(attempt.attempt);
      const words = wordsOf(attempt.attempt);
      const text = JSON.stringify(words);
      if (text !== called) {
        const from = resume === null ? null : { ...resume, path: basename(resume.path) };
        place.write(CALL, { attempt: attempt.attempt, gang: attempt.gang, resume: from, words });
        called = text;
      }
      return others.every((node) => place.read(fileOf(node))?.['joined'] === attempt.attempt) ? true : null;
    },
    { ...bound, tooLate: () => incomplete('not all nodes have joined') },
  );
  return begun;
}

async function follow(store: OpenStore, place: GangPlace, { gang, signal, say }: MeetOptions): Promise<Begun> {
  const { nodeRank } = gang;
  const word = store.makeId();
  place.write(fileOf(nodeRank), { word, joined: null });
  say(`waiting for the first node of gang ${gang.id}`);
  const call = await until(
    () => {
      if (place.read(fileOf(nodeRank))?.['word'] !== word) throw incomplete(`another process has come as node ${nodeRank}`);
      const found = readCall(store, place);
      return found?.words[nodeRank - 1] === word ? found : null;
    },
    { clock: store.clock, boundMs: MEET_MS, signal, tooLate: () => incomplete('the first node did not call') },
  );
  const attempt = await startAttempt(store, { gang: call.gang, attempt: call.attempt, signal });
  place.write(fileOf(nodeRank), { word, joined: attempt.attempt });
  return { attempt, resume: call.resume };
}

/** The word of a node that has not joined another attempt: one that has speaks of a life that is over. */
function wordOf(place: GangPlace, node: number, attempt: number | null): string | null {
  const { word, joined } = place.read(fileOf(node)) ?? {};
  return typeof word === 'string' && (joined === null || joined === attempt) ? word : null;
}

function missing(others: readonly number[], words: readonly (string | null)[]): string {
  return others.filter((_, index) => words[index] === null).join(', ');
}

interface Call extends Begun {
  readonly gang: string;
  readonly words: readonly unknown[];
}

function readCall(store: OpenStore, place: GangPlace): (Omit<Call, 'attempt'> & { readonly attempt: number }) | null {
  const { attempt, gang, resume, words } = place.read(CALL) ?? {};
  if (typeof attempt !== 'number' || typeof gang !== 'string' || !Array.isArray(words)) return null;
  if (!isObject(resume)) return { attempt, gang, resume: null, words };
  const { path: name, step, save, worldSize } = resume;
  if (typeof name !== 'string' || nameProblem(name) !== null || typeof step !== 'number' || typeof save !== 'string') return null;
  const found = { path: join(store.path, name), step, save, worldSize: typeof worldSize === 'number' ? worldSize : null };
  return { attempt, gang, resume: found, words };
}

function fileOf(node: number): string {
  return `node-${node}.json`;
}

function incomplete(message: string): HoldfastError {
  return new HoldfastError('GANG_INCOMPLETE', {
    message,
    hint: 'All nodes of a gang run with the same --dir on storage that they share, the same --gang and --nodes, and each its own --node-rank. Where every node has a folder of its own, say --nodes=1.',
  });
}
