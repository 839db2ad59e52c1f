import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '../../src/core/errors.ts';
import { quoted } from '../../src/cli/frame/completion/model.ts';
import { calledOff } from './cluster/called-off.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { buildFacility, whyNoNamespaces } from './cluster/facility.ts';
import { clustersElsewhere, keptClusters, ownClusters, removeCluster, removeLeftovers } from './cluster/leftovers.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { USAGE, type Wish, wishOf } from './play/command.ts';
import { guide } from './play/guide.ts';
import { whatIsElsewhere, whatIsLeft } from './play/left.ts';
import { EXAMPLE_IMAGE, providePrograms, provideRuns } from './scenario/example.ts';
import { hostPython, whyNoPython } from './scenario/host-trees.ts';

/**
 * Enough for the example's image. We do not know the size of a person's own images; the disk file
 * takes only the room that is written.
 */
const [DISK_MIB, LARGE_DISK_MIB] = [4096, 16_384];

/** Starts or ends a person's own cluster for experiments. */
async function main(args: readonly string[]): Promise<number> {
  const [word, ...more] = args;
  if (more.length === 0 && (word === '--help' || word === '-h')) {
    process.stdout.write(USAGE);
    return 0;
  }
  const wish = more.length === 0 && word === 'down' ? null : wishOf(args);
  if (typeof wish === 'string') {
    process.stderr.write(`error: ${wish}\n${USAGE}`);
    return 64;
  }
  const reason = whyNoNamespaces();
  if (reason !== null) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  return wish === null ? takeDown() : start(wish);
}

async function start(wish: Wish): Promise<number> {
  const signal = calledOff((text) => void process.stderr.write(text));
  try {
    const whyNot = await buildFacility(signal, wish.release);
    if (whyNot !== null) throw new Error(whyNot);
    process.stderr.write('starting …\n');
    process.stdout.write(await startToPlay(wish, signal));
    return 0;
  } catch (thrown) {
    process.stderr.write(`error: ${toError(thrown).message}\n${whatIsLeft(ownClusters())}`);
    return signal.aborted ? 130 : 1;
  }
}

/**
 * Starts a cluster that stays, with everything for the example, and returns the message about it.
 */
async function startToPlay({ nodes, images, release, gates, apis }: Wish, signal: AbortSignal): Promise<string> {
  const diskMiB = images.length === 0 ? DISK_MIB : LARGE_DISK_MIB;
  const all = [EXAMPLE_IMAGE, ...images];
  const own = { nodes: Array.from({ length: nodes }, () => ({ diskMiB })), images: all, isKept: true };
  const cluster = await startCluster({ ...own, release, gates, apis, signal });
  try {
    const noPython = whyNoPython();
    if (noPython === null) await providePrograms(cluster, { python: hostPython() });
    const runs = await provideRuns(cluster);
    signal.throwIfAborted();
    const { version, folder } = cluster;
    const names = [BASE_IMAGE, ...all.map(({ name }) => name)];
    const told = guide({ version, nodes, folder, kubectl: writeKubectl(cluster), runs, images: names, whyNoTrainers: noPython });
    cluster.settle();
    return told;
  } catch (thrown) {
    // The caller that reports the error looks for what is left.
    await Promise.allSettled([cluster[Symbol.asyncDispose]()]);
    throw thrown;
  }
}

/**
 * Writes a kubectl for the cluster's network, with its kubeconfig. Paths in its arguments are the
 * person's, also relative ones. It uses no proxy.
 */
function writeKubectl(cluster: Cluster): string {
  const path = join(cluster.folder, 'kubectl');
  const line = cluster.inNetwork(cluster.kubectlCommand).map(quoted).join(' ');
  writeFileSync(path, `#!/bin/sh\nexport NO_PROXY='*'\nexec ${line} "$@"\n`);
  chmodSync(path, 0o700);
  return path;
}

async function takeDown(): Promise<number> {
  try {
    const kept = keptClusters();
    for (const place of kept) await removeCluster(place);
    const left = await removeLeftovers();
    const ids = [...kept.map(({ id }) => id), ...left];
    process.stdout.write(ids.length === 0 ? 'There is none.\n' : `Taken down: ${ids.join(', ')}\n`);
    process.stderr.write(whatIsElsewhere(clustersElsewhere()));
    return 0;
  } catch (thrown) {
    process.stderr.write(`error: ${toError(thrown).message}\n`);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
