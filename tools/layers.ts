/**
 * The folders of `src/`, from top to bottom. A folder imports only from lines below its own; folders of one line do not import
 * each other. Folders that do not exist yet stand here already, so that their place is settled before their first file.
 */
export const LAYERS: readonly (readonly string[])[] = [
  ['binary'],
  ['cli', 'dashboard'],
  ['demo', 'drill', 'why', 'whatif', 'lint', 'plan', 'grace'],
  ['operator', 'cluster', 'supervisor', 'queue'],
  ['checkpoint', 'kube', 'ledger'],
  ['domain'],
  ['core'],
];

/** Imports that the order of the lines would allow, and that are refused all the same, with the reason. */
export const REFUSED: readonly { readonly from: string; readonly to: string; readonly because: string }[] = [
  { from: 'supervisor', to: 'kube', because: 'the supervisor runs in every training container and stays small: no Kubernetes client' },
];
