import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The maker of a machine, as its firmware reports; a container sees it, too. */
const FOLDER = '/sys/class/dmi/id';
const FIELDS = ['sys_vendor', 'product_name', 'bios_vendor', 'product_version', 'chassis_asset_tag'] as const;
/**
 * A cloud is known by the maker's name. Azure's maker sells other machines too, so Azure is known
 * by the asset tag of all of its own.
 */
const CLOUDS = /amazon|google compute engine|^google$|^7783-7084-3265-9085-8269-3286-77$/i;

/**
 * Whether this machine belongs to a cloud that can take it away; false when the firmware does not
 * show it.
 */
export function isCloudMachine(folder = FOLDER): boolean {
  return FIELDS.some((field) => CLOUDS.test(textOf(join(folder, field))));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    return '';
  }
}
