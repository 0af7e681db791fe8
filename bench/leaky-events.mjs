// A planted fault: every event of a watch leaves an object behind. The daemon loads it, to prove that the gate trips.
const parse = JSON.parse;
const left = [];

JSON.parse = (text, reviver) => {
  const value = parse(text, reviver);
  if (typeof text === 'string' && text.startsWith('{"type":"')) left.push(parse(text));
  return value;
};
