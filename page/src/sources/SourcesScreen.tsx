export default function SourcesScreen() { return <p/>; }
