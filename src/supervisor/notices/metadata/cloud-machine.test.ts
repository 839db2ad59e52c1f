import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { isCloudMachine } from './cloud-machine.ts';

it.each([
  ['an EC2 instance', { sys_vendor: 'Amazon EC2', product_name: 'g5.xlarge' }, true],
  ['an older EC2 instance on Xen', { sys_vendor: 'Xen', product_version: '4.11.amazon' }, true],
  ['a machine of Google Cloud', { sys_vendor: 'Google', product_name: 'Google Compute Engine' }, true],
  ['a machine of Azure', { sys_vendor: 'Microsoft Corporation', chassis_asset_tag: '7783-7084-3265-9085-8269-3286-77' }, true],
  ['a laptop of Microsoft', { sys_vendor: 'Microsoft Corporation', product_name: 'Surface Pro 8' }, false],
  ['a machine without firmware to read', {}, false],
])('isCloudMachine reads from the firmware whether a machine belongs to a cloud: %s', (_, fields, isCloud) => {
  using folder = tempFolder();
  for (const [name, text] of Object.entries(fields)) writeFileSync(join(folder.path, name), `${text}\n`);
  expect(isCloudMachine(folder.path)).toBe(isCloud);
});
