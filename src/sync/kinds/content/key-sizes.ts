// The keys of a Secret or a ConfigMap with the sizes of their values, for people who may not see the values. Pure.
export interface KeySize {
  key: string;
  bytes: number;
}

interface Values {
  /** Secrets only. */
  type?: string;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

/** Sizes of the values, which are base64 in a Secret. */
export function keySizes({ type, data = {}, binaryData = {} }: Values): KeySize[] {
  const bytesOf = (value: string, isBase64: boolean) => Buffer.byteLength(value, isBase64 ? 'base64' : 'utf8');
  return [
    ...Object.entries(data).map(([key, value]) => ({ key, bytes: bytesOf(value, type !== undefined) })),
    ...Object.entries(binaryData).map(([key, value]) => ({ key, bytes: bytesOf(value, true) })),
  ];
}

/** One short text for each of many objects, most of which nobody ever looks at. More keys than these are left out. */
const mostKeys = 32;

export function packedSizes(content: Values): string {
  return keySizes(content)
    .slice(0, mostKeys)
    .map(({ key, bytes }) => `${key} ${bytes}`)
    .join('\n');
}

export function unpackedSizes(packed: string): KeySize[] {
  return packed === ''
    ? []
    : packed.split('\n').map((line) => {
        const [key, bytes] = line.split(' ') as [string, string];
        return { key, bytes: Number(bytes) };
      });
}
