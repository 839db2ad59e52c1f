import { describe, expect, it } from 'vitest';
import { millis } from '../../../core/duration.ts';
import { compileRunOptions } from './run-trainer.ts';

const VALUES = {
  dir: null,
  grace: null,
  every: 'auto',
  keep: null,
  restarts: 0,
  'resume-arg': null,
  again: false,
  watch: null,
  ship: null,
  'ship-limit': null,
  'remote-patience': null,
  stage: null,
  'notice-file': null,
  metadata: null,
  hang: 'auto',
  'on-hang': 'report',
  status: null,
  gang: null,
  nodes: null,
  'node-rank': null,
  'eviction-line': null,
  'save-size': null,
  'termination-log': null,
  grid: null,
  trial: null,
} as const;

describe('the options of a run', () => {
  it('have defaults, and mark the default grace as a default', () => {
    const options = compileRunOptions(VALUES, ['train'], {});
    expect(options).toMatchObject({ grace: { graceMs: 30_000, from: 'default' }, cadence: { kind: 'auto' }, retention: null });
    expect(options.dir).toMatch(/\/holdfast-run$/);
  });

  it('come from the environment when the command line does not set them', () => {
    const env = { HOLDFAST_DIR: '/data/run', HOLDFAST_GRACE: '2m', HOLDFAST_NODE: 'n1' };
    expect(compileRunOptions(VALUES, ['train'], env)).toMatchObject({
      dir: '/data/run',
      grace: { graceMs: 120_000, from: 'environment' },
      node: 'n1',
    });
    const said = { ...VALUES, dir: '/said', grace: millis(5000), keep: 2 };
    expect(compileRunOptions(said, ['train'], env)).toMatchObject({
      dir: '/said',
      grace: { graceMs: 5000, from: 'option' },
      retention: { last: 2 },
    });
  });

  it('use the watched folder as the folder of the run', () => {
    expect(compileRunOptions({ ...VALUES, watch: '/out' }, ['train'], { HOLDFAST_DIR: '/data' })).toMatchObject({
      dir: '/out',
      isWatched: true,
    });
    expect(compileRunOptions({ ...VALUES, watch: '/out', dir: '/out/' }, ['train'], {}).dir).toBe('/out');
    expect(() => compileRunOptions({ ...VALUES, watch: '/out', dir: '/run' }, ['train'], {})).toThrow('are different folders');
  });

  it('set the eviction line and the save size by option or environment, and refuse invalid values at once', () => {
    const env = { HOLDFAST_EVICTION_LINE: '12%', HOLDFAST_SAVE_SIZE: '3GiB' };
    expect(compileRunOptions(VALUES, ['train'], env).env).toEqual(env);
    const said = { ...VALUES, 'eviction-line': 'none', 'save-size': '5GiB' };
    expect(compileRunOptions(said, ['train'], env).env).toEqual({ HOLDFAST_EVICTION_LINE: 'none', HOLDFAST_SAVE_SIZE: '5GiB' });
    expect(() => compileRunOptions({ ...VALUES, 'eviction-line': 'low' }, ['train'], {})).toThrow('option --eviction-line: "low"');
    expect(() => compileRunOptions({ ...VALUES, 'save-size': 'big' }, ['train'], {})).toThrow('option --save-size');
    expect(() => compileRunOptions(VALUES, ['train'], { HOLDFAST_EVICTION_LINE: '100%' })).toThrow('HOLDFAST_EVICTION_LINE');
    expect(() => compileRunOptions(VALUES, ['train'], { HOLDFAST_SAVE_SIZE: 'big' })).toThrow('HOLDFAST_SAVE_SIZE');
  });

  it('set the address for copies, and refuse an invalid one', () => {
    const ship = { ...VALUES, ship: 's3://bucket/run', 'ship-limit': 1e6 };
    expect(compileRunOptions(ship, ['train'], {}).ship).toMatchObject({ location: { bucket: 'bucket', prefix: 'run' }, limit: 1e6 });
    expect(() => compileRunOptions({ ...VALUES, ship: '/folder' }, ['train'], {})).toThrow('option --ship: "/folder" is not an address');
    expect(() => compileRunOptions({ ...VALUES, 'ship-limit': 1e6 }, ['train'], {})).toThrow('--ship, which is not given');
  });

  it.each<[string | null, string | undefined, object]>([
    [null, undefined, { kind: 'auto' }],
    [null, 'off', { kind: 'off' }],
    [null, '/stage', { kind: 'folder', path: '/stage', from: 'environment' }],
    ['auto', '/stage', { kind: 'auto' }],
    ['/mem', '/stage', { kind: 'folder', path: '/mem', from: 'option' }],
  ])('set the first place for saves: option %s before environment %s', (stage, said, wish) => {
    expect(compileRunOptions({ ...VALUES, stage }, ['train'], { HOLDFAST_STAGE: said }).stage).toEqual(wish);
  });

  it('look for a metadata service and for hangs by default, and serve no status', () => {
    expect(compileRunOptions(VALUES, ['train'], {})).toMatchObject({
      metadata: { isNamed: false, origin: 'http://169.254.169.254' },
      hang: { multiple: 20 },
      onHang: 'report',
      status: null,
    });
    const told = { ...VALUES, hang: 'off', status: '0.0.0.0:9400' };
    expect(compileRunOptions(told, ['train'], { HOLDFAST_METADATA: 'off' })).toMatchObject({
      metadata: null,
      hang: null,
      status: { host: '0.0.0.0', port: 9400 },
    });
    const named = { ...VALUES, metadata: 'aws' };
    expect(compileRunOptions(named, ['train'], { HOLDFAST_METADATA: 'off' }).metadata).toMatchObject({ services: ['aws'] });
    expect(() => compileRunOptions(VALUES, ['train'], { HOLDFAST_METADATA: 'moon' })).toThrow(
      /^HOLDFAST_METADATA: "moon" names no metadata service/,
    );
  });
});
