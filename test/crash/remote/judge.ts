import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { toError } from '../../../src/core/errors.ts';
import { isObject, type JsonObject, parseJson } from '../../../src/core/json.ts';
import { MANIFEST_NAME } from '../../../src/seal/names.ts';
import { type StartedOver, startOver } from '../../support/start-over.ts';
import { MEMORY, tempFolder } from '../../support/temp-folder.ts';
import { materialise, readTree, type Tree } from '../model/tree.ts';
import { checkpointsIn, type RemoteRecording } from './scenario.ts';

const POINTER = '.holdfast/last-good.json';
const NOTHING: Tree = new Map();

/** What a crash has left, and what was promised before. */
export interface Remains {
  readonly copies: Tree;
  /** The folder of the node that acted, if it survives. */
  readonly node: Tree | null;
  readonly promises: ReadonlySet<string>;
}

/** The copies that are whole, by step, and everything that is wrong with them. */
interface Copies {
  readonly steps: readonly number[];
  /** The newest: what the pointer names, or the newest whole one where it names none. */
  readonly newest: number;
  readonly faults: readonly string[];
}

/** Everything that is wrong with the copies as they lie there, and with the node that acted. */
export function faultsAtOnce(recording: RemoteRecording, before: Tree, remains: Remains): readonly string[] {
  const there = judgeCopies(recording, remains.copies);
  const half = remains.node === null ? [] : halfIn(remains.node, recording.sealed);
  return [...there.faults, ...judgePointer(recording, before, remains, there), ...judgePromises(remains, there), ...half];
}

/** The nodes that may start over the copies: each finds them as the crash has left them. */
export const STARTERS = {
  'a new node': () => NOTHING,
  'a node with an older checkpoint': ({ older }: RemoteRecording) => older,
  'the node itself': (_: RemoteRecording, { node }: Remains) => node,
} satisfies Readonly<Record<string, (recording: RemoteRecording, remains: Remains) => Tree | null>>;

/**
 * Everything that is wrong with what the next node does: it starts, saves and ships once more. The
 * newest good copy, or a newer checkpoint of its own, must be where the run goes on.
 */
export async function faultsOfStart(
  recording: RemoteRecording,
  remains: Remains,
  starter: keyof typeof STARTERS,
): Promise<readonly string[]> {
  const node = STARTERS[starter](recording, remains);
  if (node === null) return [];
  using folder = tempFolder(MEMORY);
  const [dir, prefix] = [join(folder.path, 'node'), join(folder.path, 'copies')];
  materialise(node, dir);
  materialise(remains.copies, prefix);
  try {
    const outcome = await startOver({ dir, url: `file://${prefix}`, tmp: folder.path });
    const after = { node: readTree(dir), copies: readTree(prefix) };
    return judgeStart(recording, { ...remains, node }, outcome, after).map((fault) => `${starter}: ${fault}`);
  } catch (thrown) {
    return [`${starter}: refused: ${toError(thrown).message}`];
  }
}

function judgeStart(
  recording: RemoteRecording,
  { copies, node, promises }: Remains & { readonly node: Tree },
  { step, attempt, pointer }: StartedOver,
  after: { readonly node: Tree; readonly copies: Tree },
): readonly string[] {
  const { run, sealed } = recording;
  const { steps, newest } = judgeCopies(recording, copies);
  const best = Math.max(newest, ...wholeIn(node, sealed));
  const next = best + 1;
  const taken = Math.max(0, ...numbersIn(copies, promises));
  const isOurs = best === 0 || documentIn(after.copies, '.holdfast/run.json')?.['run'] === run;
  const left = wholeIn(after.copies, sealed);
  return [
    ...((step ?? 0) === best ? [] : [`it starts ${step === null ? 'from the beginning' : `after step ${step}`}, not after ${best}`]),
    ...(attempt > taken ? [] : [`it takes attempt ${attempt} again`]),
    ...(pointer === next ? [] : [`it has shipped step ${next}, and the pointer names step ${pointer}`]),
    ...(isOurs ? [] : ['the copies change their run']),
    ...steps.filter((one) => !left.includes(one)).map((one) => `the copy of step ${one} is destroyed`),
    // The next step is its own.
    ...halfIn(new Map([...after.node].filter(([path]) => !path.startsWith(`step-${next}/`) && path !== `step-${next}`)), sealed),
  ];
}

/** A copy with its manifest is whole, and run.json names the run, if it is there. */
function judgeCopies({ run, sealed }: RemoteRecording, copies: Tree): Copies {
  const faults: string[] = [];
  const steps: number[] = [];
  for (const [name, files] of checkpointsIn(copies)) {
    if (!files.has(MANIFEST_NAME)) continue;
    if (isDeepStrictEqual(files, sealed.get(name))) steps.push(stepOf(name));
    else faults.push(`the copy ${name} counts, and is not whole`);
  }
  const owner = documentIn(copies, '.holdfast/run.json');
  if (owner !== null && owner['run'] !== run) faults.push('run.json does not name the run');
  const pointed = Number(documentIn(copies, POINTER)?.['step']);
  return { steps, newest: steps.includes(pointed) ? pointed : Math.max(0, ...steps), faults };
}

/** The pointer names a whole copy of the run, and none that is older than what it named before. */
function judgePointer({ run }: RemoteRecording, before: Tree, { copies }: Remains, { steps }: Copies): string[] {
  const [was, is] = [documentIn(before, POINTER), documentIn(copies, POINTER)];
  if (is === null) return was === null ? [] : ['the pointer is lost'];
  if (is['run'] !== run) return ['the pointer is torn, or of another run'];
  const step = Number(is['step']);
  return [
    ...(steps.includes(step) ? [] : [`the pointer names step ${step}, of which there is no whole copy`]),
    ...(was !== null && Number(was['step']) > step ? [`the pointer moved back to step ${step}`] : []),
  ];
}

function judgePromises({ copies, promises }: Remains, { steps }: Copies): string[] {
  return [...promises].flatMap((promise) => {
    const [kind, number] = promise.split(' ') as [string, string];
    if (kind === 'attempt') return copies.has(`.holdfast/attempt-numbers/${number}.json`) ? [] : [`the number ${number} is free again`];
    if (!steps.includes(Number(number))) return [`step ${number} was shipped, and is not there`];
    const pointer = documentIn(copies, POINTER);
    return Number(pointer?.['step']) >= Number(number) ? [] : [`step ${number} was shipped, and the pointer does not know it`];
  });
}

function wholeIn(tree: Tree, sealed: RemoteRecording['sealed']): number[] {
  return checkpointsIn(tree).flatMap(([name, files]) => (isDeepStrictEqual(files, sealed.get(name)) ? [stepOf(name)] : []));
}

/** What a node has under the name of a checkpoint is whole. */
function halfIn(tree: Tree, sealed: RemoteRecording['sealed']): string[] {
  return checkpointsIn(tree).flatMap(([name, files]) => {
    const expected = sealed.get(name);
    return expected === undefined || isDeepStrictEqual(files, expected) ? [] : [`the checkpoint ${name} is half there`];
  });
}

/** The attempt numbers that a later attempt must be above. */
function numbersIn(copies: Tree, promises: ReadonlySet<string>): number[] {
  const taken = [...copies.keys()].map((path) => /^\.holdfast\/attempt-numbers\/(\d+)\.json$/.exec(path)?.[1]);
  const promised = [...promises].map((promise) => /^attempt (\d+)$/.exec(promise)?.[1]);
  const manifests = [...copies.keys()]
    .filter((path) => path.endsWith(`/${MANIFEST_NAME}`))
    .map((path) => documentIn(copies, path)?.['attempt']);
  return [...taken, ...promised, ...manifests].map(Number).filter((number) => !Number.isNaN(number));
}

function stepOf(name: string): number {
  return Number(/^step-(\d+)/.exec(name)?.[1]);
}

/** A small JSON document; an empty one where something else is there, null where nothing is. */
function documentIn(tree: Tree, path: string): JsonObject | null {
  const bytes = tree.get(path);
  if (bytes === undefined) return null;
  const json = bytes === null ? null : parseJson(Buffer.from(bytes).toString('utf8'));
  return json?.ok === true && isObject(json.value) ? json.value : {};
}
