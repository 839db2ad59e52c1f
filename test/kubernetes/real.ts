import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quoted } from '../../src/cli/completion/model.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { buildFacility, whyNoNamespaces } from './cluster/facility.ts';
import { keptClusters, removeCluster, removeLeftovers } from './cluster/leftovers.ts';
import { MOST_NODES } from './cluster/network.ts';

const USAGE = `npm run cluster:real                  starts a real Kubernetes with two nodes, which stays until it is taken down
npm run cluster:real -- --nodes=3     with so many nodes, 1 to ${MOST_NODES}
npm run cluster:real -- down          takes down every cluster that was started so, and what killed sessions have left
`;

/** A person's own cluster, to try things on. */
async function main(args: readonly string[]): Promise<number> {
  const [word, ...more] = args;
  if (more.length === 0 && (word === '--help' || word === '-h')) {
    process.stdout.write(USAGE);
    return 0;
  }
  const nodes = word === undefined ? 2 : Number(/^--nodes=(\d{1,2})$/.exec(word)?.[1] ?? 0);
  const isDown = word === 'down';
  if (more.length > 0 || (!isDown && (nodes < 1 || nodes > MOST_NODES))) {
    process.stderr.write(`error: not understood: ${args.join(' ')}\n${USAGE}`);
    return 64;
  }
  const reason = whyNoNamespaces();
  if (reason !== null) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  return isDown ? takeDown() : start(nodes);
}

async function start(nodes: number): Promise<number> {
  const whyNot = await buildFacility();
  if (whyNot !== null) {
    process.stderr.write(`error: ${whyNot}\n`);
    return 1;
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort(new Error(`${signal} came`)));
  process.stderr.write('starting …\n');
  try {
    const options = Array.from({ length: nodes }, () => ({ diskMiB: 4096 }));
    const cluster = await startCluster({ nodes: options, isKept: true, signal: stop.signal });
    const kubectl = writeKubectl(cluster);
    process.stdout.write(
      `Kubernetes ${cluster.version} with ${nodes === 1 ? '1 node' : `${nodes} nodes`}, in ${cluster.folder}\n\n    ${kubectl} get nodes\n\n`,
    );
    process.stdout.write(
      'Its pods reach each other and nothing else. Images are imported, not pulled: holdfast.test/base:1 has busybox. Volumes are not made for claims.\n',
    );
    process.stdout.write('Take it down: npm run cluster:real -- down\n');
    return 0;
  } catch (thrown) {
    process.stderr.write(`error: ${thrown instanceof Error ? thrown.message : String(thrown)}\nNothing was left behind.\n`);
    return stop.signal.aborted ? 130 : 1;
  }
}

/** kubectl, in the cluster's network and with its kubeconfig; files it is told are the person's, also by a relative path, and no proxy leads there. */
function writeKubectl(cluster: Cluster): string {
  const path = join(cluster.folder, 'kubectl');
  const line = cluster.inNetwork(cluster.kubectlCommand).map(quoted).join(' ');
  writeFileSync(path, `#!/bin/sh\nexport NO_PROXY='*'\nexec ${line} "$@"\n`);
  chmodSync(path, 0o700);
  return path;
}

async function takeDown(): Promise<number> {
  const kept = keptClusters();
  for (const place of kept) await removeCluster(place);
  const left = await removeLeftovers();
  const ids = [...kept.map(({ id }) => id), ...left];
  process.stdout.write(ids.length === 0 ? 'There is none.\n' : `Taken down: ${ids.join(', ')}\n`);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
