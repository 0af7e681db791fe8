// A planted fault: every event of a watch costs two milliseconds more. The daemon loads it, to prove that the gate trips.
const parse = JSON.parse;

JSON.parse = (text, reviver) => {
  if (typeof text === 'string' && text.startsWith('{"type":"')) {
    const until = performance.now() + 2;
    while (performance.now() < until);
  }
  return parse(text, reviver);
};
