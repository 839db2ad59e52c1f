import { afterAll, describe } from 'vitest';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { lostCopiesSuite } from './lost-copies-suite.ts';
import { shipSuite } from './ship-suite.ts';
import { shipTogetherSuite } from './ship-together-suite.ts';
import { twoNodesSuite } from './two-nodes-suite.ts';

describe('ship and fetch with a folder', () => {
  const folder = tempFolder(MEMORY);
  afterAll(() => folder[Symbol.dispose]());
  const place = () => ({ base: `file://${folder.path}`, env: {} });
  shipSuite(place);
  shipTogetherSuite(place);
  twoNodesSuite(place);
  lostCopiesSuite(place);
});
