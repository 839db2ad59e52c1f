import { basename, join } from 'node:path';
import { isObject } from '../../core/json.ts';
import { type Attempt, fencedError, isFenced, startAttempt } from '../../store/attempt/attempt.ts';
import { nameProblem } from '../../seal/relative-path.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { Gang } from '../../domain/restart/gang.ts';
import type { Resume } from '../base/resume.ts';
import { GangPlace } from './gang-folder.ts';
import { until } from './until.ts';

/** The attempt and the checkpoint that all nodes of a gang start with. */
export interface Begun {
  readonly attempt: Attempt;
  readonly resume: Resume | null;
}

/** What a node needs to meet the other nodes of its gang. */
export interface MeetOptions {
  readonly gang: Gang;
  /**
   * Starts the attempt and finds the checkpoint to resume from. The leading node calls this once
   * all other nodes have arrived.
   */
  readonly begin: () => Promise<Begun>;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

/**
 * How long the nodes wait for each other. Nodes of one job come up minutes apart: they pull images
 * and boot machines.
 */
const MEET_MS = 10 * 60_000;
const CALL = 'call.json';

/**
 * Starts one attempt on all nodes of a gang together. Every start of a supervisor announces itself
 * with its own random word, and an attempt names the words it is made of. So a node never mistakes
 * the file of a dead supervisor, or a late node, for a live one.
 *
 * 1. Each node writes its word.
 * 2. When all have, the first node starts the attempt, finds the checkpoint to resume from, and
 * calls the others by their words.
 * 3. Each called node joins the attempt and confirms it.
 * 4. When all have confirmed, the trainers start.
 *
 * The first node calls a node again if its word changes meanwhile, because that node died and came
 * back.
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
    tooLate: () => incomplete(`node ${missing(others, wordsOf(null))} did not join`),
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
      if (place.read(fileOf(nodeRank))?.['word'] !== word) throw incomplete(`another process has joined as node ${nodeRank}`);
      const found = readCall(store, place);
      return found?.words[nodeRank - 1] === word ? found : null;
    },
    { clock: store.clock, boundMs: MEET_MS, signal, tooLate: () => incomplete('the first node did not start the attempt') },
  );
  const attempt = await startAttempt(store, { gang: call.gang, attempt: call.attempt, signal });
  place.write(fileOf(nodeRank), { word, joined: attempt.attempt });
  return { attempt, resume: call.resume };
}

/**
 * The word of a node that has not joined another attempt. A node that has joined one left this word
 * from an earlier start.
 */
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
    hint: 'All nodes of a gang run with the same --dir on storage that they share, the same --gang and --nodes, and each its own --node-rank. If every node has its own folder, use --nodes=1.',
  });
}
