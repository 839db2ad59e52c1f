import { afterAll } from 'vitest';
import { RUNS } from './marked-processes.ts';

// A set-up file: ends every process that the tests of a file have started, also after failed tests.
if (process.platform === 'linux') afterAll(() => RUNS.end());
