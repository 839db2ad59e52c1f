import { afterAll } from 'vitest';
import { RUNS } from './marked-processes.ts';

// A set-up file: after the tests of each file, also when they failed, nothing that they have started runs on.
if (process.platform === 'linux') afterAll(() => RUNS.end());
