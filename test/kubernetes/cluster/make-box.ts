import { Box } from './box.ts';
import { makeCgroup } from './cgroups.ts';
import { cgroupOf, claimPlace, recordHolder, settle } from './leftovers.ts';
import { prepareNetwork } from './network.ts';

// A session that a test kills: it makes a box, says where, and waits.
const isKept = process.argv.includes('--kept');
const place = claimPlace({ isKept });
const box = await Box.make({
  folder: place.folder,
  init: ['sleep', 'infinity'],
  prepare: prepareNetwork(1),
  isKept,
  whenHeld: (holder) => recordHolder(place, holder),
});
if (process.argv.includes('--settled')) settle(place);
makeCgroup(`${cgroupOf(place.id)}/node-1`);
const network = (await box.run(['readlink', '/proc/self/ns/net'])).trim();
process.stdout.write(`${JSON.stringify({ ...place, network, pid: process.pid })}\n`);
setInterval(() => {}, 60_000);
