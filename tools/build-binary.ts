import { join } from 'node:path';
import { buildExecutable } from './binary/executable.ts';

/** Makes `dist/holdfast`: one executable with the runtime, the program and the Python package inside. See docs/adr/0027-single-executable.md. */
const out = join(import.meta.dirname, '..', 'dist', 'holdfast');
const { bytes, arch } = await buildExecutable(out);
console.log(`${out}  linux-${arch}, ${(bytes / 2 ** 20).toFixed(0)} MiB`);
