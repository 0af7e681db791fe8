// Writes protobuf fields that hold texts or messages; OpenAPI v2 needs no other field types.

const lengthDelimited = 2;

export function textField(field: number, text: string): Buffer {
  return bytesField(field, Buffer.from(text));
}

export function bytesField(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + lengthDelimited), varint(bytes.length), bytes]);
}

/** Seven bits a byte, the lowest first; every byte but the last has its highest bit set. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
