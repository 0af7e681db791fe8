// What Artifact Hub shows of the chart. In: package.json, the section of the changelog, the digest of the image. Out: annotations. No
// address is invented: what package.json leaves empty has no annotation.

/** The part of package.json that says where things are published. */
export interface PublishedAt {
  readonly version: string;
  readonly homepage?: string;
  readonly repository?: { readonly url?: string };
  readonly bugs?: { readonly url?: string };
  readonly publish?: {
    /** With its registry and without a tag: registry.example.com/hostward. */
    readonly image?: string;
    readonly signKey?: { readonly fingerprint?: string; readonly url?: string };
  };
}

const platforms = ['linux/amd64', 'linux/arm64'];

/** Each value is text; lists are JSON, which is YAML too. */
export function chartAnnotations(
  { version, homepage, repository, bugs, publish }: PublishedAt,
  { notes, imageDigest }: { notes: string; imageDigest: string },
): Record<string, string> {
  const links = [
    { name: 'homepage', url: homepage },
    { name: 'source', url: repository?.url },
    { name: 'issues', url: bugs?.url },
  ].filter(({ url = '' }) => url !== '');
  const { image = '', signKey } = publish ?? {};
  const images = image === '' ? [] : [{ name: 'hostward', image: `${image}:${version}@${imageDigest}`, platforms }];
  const hasKey = (signKey?.fingerprint ?? '') !== '' && (signKey?.url ?? '') !== '';
  const lists = Object.entries({ changes: changesOf(notes), images, links }).filter(([, list]) => list.length > 0);
  return Object.fromEntries([
    ...lists.map(([name, list]) => [`artifacthub.io/${name}`, JSON.stringify(list)]),
    ...(hasKey ? [['artifacthub.io/signKey', JSON.stringify(signKey)]] : []),
  ]);
}

/** The points of the section, each in one line. */
function changesOf(notes: string): string[] {
  return [...notes.matchAll(/^- (.*(?:\n {2,}.*)*)/gm)].map(([, point = '']) => point.replace(/\s+/g, ' '));
}

/** Chart.yaml ends with its annotations, and gains these. */
export function withAnnotations(chart: string, annotations: Readonly<Record<string, string>>): string {
  if (!/\nannotations:\n(?: {2}.*\n)+$/.test(chart)) throw new Error('Chart.yaml must end with its annotations');
  return (
    chart +
    Object.entries(annotations)
      .map(([key, value]) => `  ${key}: ${JSON.stringify(value)}\n`)
      .join('')
  );
}
