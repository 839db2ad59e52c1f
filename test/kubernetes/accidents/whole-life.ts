import { once } from 'node:events';
import { createServer } from 'node:net';
import { cacheFolder } from '../cluster/facility.ts';
import { startCluster } from '../cluster/cluster.ts';
import { startEndlessPod } from '../cluster/endless-pod.ts';
import { eventually } from '../cluster/wait.ts';
import { machineList } from './machine-list.ts';

// The whole life of a cluster with a pod in it, on a machine whose ports others have, told as lists of all that there is: before, meanwhile and afterwards.

const PATIENCE_MS = 60_000;
const TAKEN_PORTS = [2379, 2380, 6443, 10250, 10257, 10259];
const servers = TAKEN_PORTS.map((port) => createServer().listen(port, '0.0.0.0'));
await Promise.all(servers.map((server) => once(server, 'listening')));

const list = (...ids: readonly string[]): readonly string[] => machineList(cacheFolder(), ids);
const before = list();
const cluster = await startCluster({ nodes: [{}] });
const { id } = cluster;
await startEndlessPod(cluster);
const meanwhile = list(id);
await cluster[Symbol.asyncDispose]();
// Whoever has ended is gone when the first process of this machine has looked for it.
const isAsBefore = (): true | null => (list(id).join('\n') === before.join('\n') ? true : null);
await eventually('the machine as it was', isAsBefore, { patienceMs: PATIENCE_MS }).catch(() => {});
const after = list(id);
for (const server of servers) server.close();
process.stdout.write(`${JSON.stringify({ before, meanwhile, after })}\n`);
