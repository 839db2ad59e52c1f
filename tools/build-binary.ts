import { join, resolve } from 'node:path';
import { buildExecutable } from './binary/executable.ts';

/** Makes `dist/holdfast`, or the file that is named: one executable with the runtime, the program and the Python package inside. See docs/adr/0027-single-executable.md. */
const out = resolve(process.argv[2] ?? join(import.meta.dirname, '..', 'dist', 'holdfast'));
const { bytes, arch } = await buildExecutable(out);
console.log(`${out}  linux-${arch}, ${(bytes / 2 ** 20).toFixed(0)} MiB`);
