import { WHY_NOT_BUILT, buildFacility, whyNoNamespaces, whyNotBuildable } from './cluster/facility.ts';
import { WHY_NO_TORCH, installTorch } from './cluster/torch.ts';

/**
 * Before the first suite: builds Kubernetes and installs torch where they are not there yet. Where that cannot be, the suites that need them are skipped
 * and say why.
 */
export async function setup(): Promise<void> {
  if (whyNoNamespaces() !== null) return;
  // Torch is large, and of no use here without a cluster.
  const missing = await whyNotBuildable();
  // Side by side: the one computes while the other is fetched.
  const [notBuilt, noTorch] = missing === null ? await Promise.all([buildFacility(), installTorch()]) : [missing, null];
  // Tests run in processes of their own, which have this environment.
  if (notBuilt !== null) process.env[WHY_NOT_BUILT] = notBuilt;
  if (noTorch !== null) process.env[WHY_NO_TORCH] = noTorch;
}
