import { defineConfig } from 'vitest/config';
import whole from '../../../vitest.config.ts';

const projects = whole.test?.projects ?? [];
const own = projects.find((each) => typeof each === 'object' && 'test' in each && each.test?.name === 'kubernetes');
if (own === undefined || typeof own !== 'object' || !('test' in own)) throw new Error('there is no project kubernetes');

/** The project as it is, with tests that are to be interrupted or to fail, and without a build before them. */
export default defineConfig({ test: { ...own.test, globalSetup: [], include: ['test/kubernetes/interrupted/{failing,waiting}-*.ts'] } });
