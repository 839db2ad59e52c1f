import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { LAUNCHER, runProcess } from './support/run-process.ts';

const operator = (...args: readonly string[]): ReturnType<typeof runProcess> => runProcess(LAUNCHER, ['operator', ...args]);

describe('holdfast operator install', () => {
  it('refuses to print a Deployment without an image, and says how to make one', async () => {
    const { code, stdout, stderr } = await operator('install');
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toMatch(/OPERATOR_IMAGE_MISSING[^]*npm run build:image[^]*--image=/);
  });

  it('prints the same objects as YAML and as JSON', async () => {
    const options = ['install', '--image=registry.example.com/holdfast:1', '--watch-namespace=team'];
    const [yaml, json] = await Promise.all([operator(...options), operator(...options, '--json')]);
    const items = parseAllDocuments(yaml.stdout).map((document) => document.toJSON() as unknown);
    expect(items.length).toBeGreaterThan(8);
    expect(JSON.parse(json.stdout)).toEqual({ apiVersion: 'v1', kind: 'List', items });
  });

  it.each([
    [['install', '--image=a b'], 'is not an image'],
    [['install', '--image=a', '--watch-namespace=Team'], 'is not a namespace'],
    [['install', '--crds', '--status-policy'], 'each print something else'],
  ])('refuses %j', async (args, reason) => {
    const { code, stderr } = await operator(...args);
    expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringContaining(reason) as string });
  });
});
