// A planted fault: every event of a watch costs two milliseconds of a processor more. The daemon loads it, to prove that the gate trips.
const parse = JSON.parse;
const moreMicroseconds = 2_000;

// Counts processor time: two milliseconds on the wall clock would be less work while other programs use the processor.
const spentMicroseconds = () => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

JSON.parse = (text, reviver) => {
  if (typeof text === 'string' && text.startsWith('{"type":"')) {
    const until = spentMicroseconds() + moreMicroseconds;
    while (spentMicroseconds() < until);
  }
  return parse(text, reviver);
};
