import { USER } from '../../src/operator/install/options.ts';
import type { OciImage } from './oci-archive.ts';
import { PROGRAMS_IN_IMAGE } from './operator-root.ts';

/** How the operator's image starts, and what it says of itself. */
export function operatorImage(version: string): Pick<OciImage, 'config' | 'annotations'> {
  return {
    config: {
      User: `${USER}:${USER}`,
      Entrypoint: [PROGRAMS_IN_IMAGE.holdfast],
      Env: ['PATH=/usr/local/bin:/opt/holdfast', 'HOME=/'],
      Labels: {
        'org.opencontainers.image.title': 'holdfast',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
    annotations: { 'org.opencontainers.image.ref.name': version },
  };
}
