// Reads versions of Kubernetes and of vCluster's chart.

/** The minor number of a version 1.x of Kubernetes; a larger major counts as recent. */
export function minorOf(version: string): number | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined) return undefined;
  return Number(major) > 1 ? Number.POSITIVE_INFINITY : Number(minor);
}

/** `vcluster-0.30.1` in the label `chart` of the objects that vCluster's chart makes. */
export function chartVersion(label: string | undefined): { text: string; minor: number } | undefined {
  const [, text, major, minor] = /^vcluster[a-z0-9-]*?-(?:v)?((\d+)\.(\d+)\..*)$/.exec(label ?? '') ?? [];
  if (text === undefined) return undefined;
  return { text, minor: Number(major) > 0 ? Number.POSITIVE_INFINITY : Number(minor) };
}
