import { readFileSync } from 'node:fs';
import { readDump } from '../../src/kube/objects/read-dump.ts';
import { worldOf } from '../../src/whatif/world/world.ts';

/**
 * `parse FILE` parses the lines of a snapshot, `load FILE` reads it as `whatif` does. Prints the
 * processor time and the memory that the process took.
 */
const [how, path = ''] = process.argv.slice(2);
if (how === 'parse') for (const line of readFileSync(path, 'utf8').split('\n')) JSON.parse(line);
else worldOf(readDump([path], '').objects, null).cluster();
const { user, system } = process.cpuUsage();
const highWaterMark = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
process.stdout.write(JSON.stringify({ seconds: (user + system) / 1e6, peakBytes: 1024 * highWaterMark }));
