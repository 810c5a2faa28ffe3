export default function CompareScreen() { return <p/>; }
