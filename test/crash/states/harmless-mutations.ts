/**
 * Mutations of the protocol that no crash turns into a fault, each with the reason. The tests must
 * detect every other mutation.
 */
export const HARMLESS: readonly { readonly because: string; readonly mutations: readonly string[] }[] = [
  {
    because: 'last-good.json is a cache, save for the suspects in it, of which none comes back before it is synced',
    mutations: [
      'swap sync-file .holdfast/last-good.json.ID.tmp with rename .holdfast/last-good.json.ID.tmp -> .holdfast/last-good.json',
      'swap sync-folder RUN with write .holdfast/last-good.json.ID.tmp',
      'swap sync-folder checkpoint-N with write .holdfast/last-good.json.ID.tmp',
      'swap sync-folder export with write .holdfast/last-good.json.ID.tmp',
    ],
  },
  {
    because: 'the seal of files comes back from quarantine after them, and that their save is a suspect is durable by then',
    mutations: [
      'swap sync-folder .holdfast with rename .holdfast/quarantine/ckpt-N/ckpt-N.data-N -> ckpt-N.data-N',
      'swap sync-folder .holdfast with rename .holdfast/quarantine/model-N.dat/model-N.dat -> model-N.dat',
    ],
  },
  {
    because: 'receipts are read in the life of the machine that wrote them; after a crash a save in staging is never taken up again',
    mutations: [
      'drop sync-file STAGED/receipts/rank-N.json.ID.tmp',
      'drop sync-folder STAGED/receipts',
      'swap rename STAGED/receipts/rank-N.json.ID.tmp -> STAGED/receipts/rank-N.json with sync-folder STAGED/receipts',
      'swap sync-file STAGED/receipts/rank-N.json.ID.tmp with rename STAGED/receipts/rank-N.json.ID.tmp -> STAGED/receipts/rank-N.json',
      'swap sync-folder STAGED/data with write STAGED/receipts/rank-N.json.ID.tmp',
      'swap sync-folder STAGED/receipts with write STAGED/data/holdfast.manifest.json',
      'swap sync-folder .holdfast with rename STAGED -> .holdfast/trash/GRAVE',
      'swap rmdir STAGED with sync-folder checkpoint-N',
      'swap write STAGED/data/ranks/N.json with sync-file STAGED/data/shard-N.dat',
      'swap rmdir STAGED with sync-folder RUN',
      'swap rmdir STAGED with sync-folder export',
    ],
  },
  {
    because: 'the name of a pin is what counts, not what is in it',
    mutations: [
      'drop sync-file .holdfast/pins/.ID.tmp',
      'swap sync-file .holdfast/pins/.ID.tmp with rename .holdfast/pins/.ID.tmp -> .holdfast/pins/step-N',
    ],
  },
  {
    because: 'no attempt goes on after a crash of its storage, and a hollow folder keeps its number taken just as well',
    mutations: [
      'drop sync-folder .holdfast/attempts/.tmp-ID',
      'swap sync-folder .holdfast/attempts/.tmp-ID with rename .holdfast/attempts/.tmp-ID -> .holdfast/attempts/N',
    ],
  },
  {
    because: 'the number of an attempt and its fence are promised together, after the syncs of both: their order is free',
    mutations: [
      'swap sync-folder .holdfast/attempts with rename .holdfast/attempts/N/staging -> .holdfast/fenced/N',
      'swap rename .holdfast/attempts/N/staging -> .holdfast/fenced/N with sync-folder .holdfast/attempts',
    ],
  },
  {
    because:
      'what is renamed inside the fenced staging stops a rename on its way in a living kernel, and no kernel lives through the crash',
    mutations: [
      'swap rename .holdfast/fenced/N/ID/data -> .holdfast/fenced/N/ID/data.fenced with sync-folder RUN',
      'swap sync-folder .holdfast/attempts/N with rename .holdfast/fenced/N/ID/data -> .holdfast/fenced/N/ID/data.fenced',
    ],
  },
  {
    because:
      'a rename is on disk with both of its names or not at all, so that the sync of either folder holds it; both are synced all the same',
    mutations: [
      'drop sync-folder .holdfast/quarantine/step-N',
      'drop sync-folder .holdfast/trash/GRAVE',
      'swap rename step-N -> .holdfast/trash/GRAVE/step-N with sync-folder RUN',
      'swap rename ckpt-N.index -> .holdfast/trash/GRAVE/ckpt-N.index with sync-folder RUN',
      'swap rename model-N.dat -> .holdfast/trash/GRAVE/model-N.dat with sync-folder RUN',
      'swap rename step-N -> .holdfast/quarantine/step-N/step-N with sync-folder .holdfast/quarantine/step-N',
      'swap sync-folder .holdfast/trash/GRAVE with unlink .holdfast/trash/GRAVE/step-N/holdfast.manifest.json',
      'drop sync-folder .holdfast/quarantine/ckpt-N',
      'drop sync-folder .holdfast/quarantine/model-N.dat',
      'swap rename ckpt-N.index -> .holdfast/quarantine/ckpt-N/ckpt-N.index with sync-folder .holdfast/quarantine/ckpt-N',
      'swap rename model-N.dat -> .holdfast/quarantine/model-N.dat/model-N.dat with sync-folder .holdfast/quarantine/model-N.dat',
      'swap sync-folder .holdfast/trash/GRAVE with unlink .holdfast/trash/GRAVE/ckpt-N.data-N',
      'swap sync-folder .holdfast/trash/GRAVE with unlink .holdfast/trash/GRAVE/model-N.dat',
      'swap rename export/ckpt-N.data-N -> ckpt-N.data-N with sync-folder export',
      'swap rename export/model-N.dat -> model-N.dat with sync-folder export',
      'swap rename export/ckpt-N.holdfast.json -> ckpt-N.holdfast.json with sync-folder RUN',
      'swap rename export/model-N.dat.holdfast.json -> model-N.dat.holdfast.json with sync-folder RUN',
    ],
  },
  {
    because: 'what is left in the trash or in an emptied entry of the quarantine is no checkpoint; a later prune removes it',
    mutations: [
      'swap rmdir .holdfast/trash/GRAVE with sync-folder .holdfast/trash',
      'swap sync-folder .holdfast/trash with mkdir .holdfast/trash/GRAVE',
      'swap rmdir .holdfast/quarantine/step-N with sync-folder .holdfast/quarantine',
      'swap rmdir .holdfast/quarantine/ckpt-N with sync-folder .holdfast/quarantine',
      'swap rmdir .holdfast/quarantine/model-N.dat with sync-folder .holdfast/quarantine',
      'swap sync-folder RUN with unlink .holdfast/quarantine/step-N/reason.json',
    ],
  },
  {
    because: 'the reason is synced again, by the sync of its entry, before the bad checkpoint comes to lie beside it',
    mutations: [
      'swap sync-folder .holdfast/quarantine/.tmp-ID with rename .holdfast/quarantine/.tmp-ID -> .holdfast/quarantine/ckpt-N',
      'swap sync-folder .holdfast/quarantine/.tmp-ID with rename .holdfast/quarantine/.tmp-ID -> .holdfast/quarantine/model-N.dat',
      'swap sync-folder .holdfast/quarantine/.tmp-ID with rename .holdfast/quarantine/.tmp-ID -> .holdfast/quarantine/step-N',
    ],
  },
  {
    because: 'a torn manifest in, or beside, the checkpoint of another tool in the run’s folder is no seal, and nothing was promised yet',
    mutations: [
      'swap sync-file STAGED/manifest with rename STAGED/manifest -> checkpoint-N/holdfast.manifest.json',
      'swap sync-file STAGED/manifest with rename STAGED/manifest -> ckpt-N.holdfast.json',
      'swap sync-file STAGED/manifest with rename STAGED/manifest -> model-N.dat.holdfast.json',
    ],
  },
  {
    because: 'the manifest was durable before it came to its place; this sync is for one that somebody has copied there',
    mutations: [
      'drop sync-file checkpoint-N/holdfast.manifest.json',
      'drop sync-file export/model-N.dat.holdfast.json',
      'swap rename STAGED/manifest -> checkpoint-N/holdfast.manifest.json with sync-file checkpoint-N/holdfast.manifest.json',
      'swap rename STAGED/manifest -> export/model-N.dat.holdfast.json with sync-file export/model-N.dat.holdfast.json',
    ],
  },
  {
    because: 'a new folder next to it is not looked at before it gets its own final name',
    mutations: [
      'swap sync-folder RUN with mkdir .holdfast/attempts/.tmp-ID',
      'swap sync-folder RUN with mkdir .holdfast/trash/GRAVE',
      'swap sync-folder RUN with mkdir STAGED',
      'swap sync-folder export with mkdir STAGED',
      'swap sync-folder RUN with write .holdfast/rollback.json.ID.tmp',
    ],
  },
  {
    because: 'the identity of a run is promised with its first attempt, and starting that syncs the folder of the run again',
    mutations: ['swap rename .tmp-holdfast-ID -> .holdfast with sync-folder RUN'],
  },
  {
    because: 'what comes from elsewhere is durable there when the scenario begins; that its syncs are needed is shown by the seal in place',
    mutations: [
      'drop sync-file export/ckpt-N.data-N',
      'drop sync-file export/ckpt-N.index',
      'drop sync-file export/model-N.dat',
      'swap write ckpt-N.index with sync-file ckpt-N.data-N',
    ],
  },
  {
    because:
      'the record of what is moved was made durable before, by the same sync of whoever made it: this one is for one who was killed before that',
    mutations: [
      'swap sync-folder export with rename export/ckpt-N.data-N -> ckpt-N.data-N',
      'swap sync-folder export with rename export/ckpt-N.index -> ckpt-N.index',
      'swap rename ckpt-N.data-N -> .holdfast/trash/GRAVE/ckpt-N.data-N with sync-folder .holdfast/trash',
      'swap rename model-N.dat.holdfast.json -> .holdfast/trash/GRAVE/model-N.dat.holdfast.json with sync-folder .holdfast/trash',
    ],
  },
  {
    because:
      'what comes back from the trash is whole, in its entry or in the run, and a later prune decides anew; no caller was promised that it goes',
    mutations: [
      'swap rename .holdfast/trash/GRAVE/step-N -> step-N with sync-folder RUN',
      'swap rmdir .holdfast/trash/GRAVE with sync-folder RUN',
      'swap sync-folder RUN with rename .holdfast/trash/GRAVE/ckpt-N.data-N -> ckpt-N.data-N',
      'swap sync-folder RUN with rename .holdfast/trash/GRAVE/model-N.dat -> model-N.dat',
      'swap sync-folder RUN with rename .holdfast/trash/GRAVE/step-N -> step-N',
    ],
  },
  {
    because:
      'what is bad stays so, whichever of its parts has come to quarantine: the seal without its files follows them, and both come back together',
    mutations: [
      'swap rename ckpt-N.holdfast.json -> .holdfast/quarantine/ckpt-N/ckpt-N.holdfast.json with sync-folder RUN',
      'swap rename model-N.dat.holdfast.json -> .holdfast/quarantine/model-N.dat/model-N.dat.holdfast.json with sync-folder RUN',
      'swap sync-folder RUN with rename ckpt-N.data-N -> .holdfast/quarantine/ckpt-N/ckpt-N.data-N',
      'swap sync-folder RUN with rename model-N.dat -> .holdfast/quarantine/model-N.dat/model-N.dat',
    ],
  },
];
